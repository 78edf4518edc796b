from pathlib import Path

from shuffledp.records import files, tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.ledger.claims import RULES
from shuffledp.reproduction.report import pages
from shuffledp.reproduction.report.brackets import brackets
from shuffledp.reproduction.report.provenance import described

with jobs.running(snakemake.input.request, log=snakemake.log[0]) as parameters:
    page = pages.render(
        snakemake.input.template,
        ledger=tables.read_table(parameters["ledger"]).astype(str).to_dict("records"),
        rules=RULES,
        figures=[
            pages.Shown(paper, name, pages.title(paper, name), Path(picture).read_bytes(), caption)
            for paper, name, picture, caption in parameters["figures"]
        ],
        brackets=brackets(parameters["panels"], read=tables.read_table),
        provenance=[
            described(files.read_json(name), name=name, code=code)
            for name, code in parameters["records"].items()
        ],
    )
    files.write_text(snakemake.output.page, page)
