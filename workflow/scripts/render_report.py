from shuffledp.records import files, tables
from shuffledp.reproduction import jobs
from shuffledp.reproduction.ledger.page import HEADINGS
from shuffledp.reproduction.report import pages
from shuffledp.reproduction.report.brackets import HEADINGS as BRACKETS
from shuffledp.reproduction.report.brackets import brackets
from shuffledp.reproduction.report.provenance import HEADINGS as PROVENANCE
from shuffledp.reproduction.report.provenance import described

with jobs.making(snakemake.input.request, log=snakemake.log[0]) as asked:
    written = {
        snakemake.output.claims: pages.render(
            snakemake.input.template,
            title="Do the papers' numbers come out?",
            about="What the papers state, what comes out here, and why they differ where they do.",
            headings=HEADINGS,
            rows=tables.read_table(asked["ledger"]).astype(str).to_dict("records"),
        ),
        snakemake.output.brackets: pages.render(
            snakemake.input.template,
            title="Between which bounds epsilon lies",
            about="Wherever a figure has certified bounds on both sides: the tightest of each.",
            headings=BRACKETS,
            rows=brackets(asked["panels"], read=tables.read_table),
        ),
        snakemake.output.provenance: pages.render(
            snakemake.input.template,
            title="Where each result comes from",
            about="From the records beside the results; a figure, which is the same wherever it is drawn, "
            "keeps neither versions nor times.",
            headings=PROVENANCE,
            rows=[
                described(files.read_json(name), name=name, code=code)
                for name, code in asked["records"].items()
            ],
            folded=["parameters"],
        ),
    }
    for path, page in written.items():
        files.write_text(path, page)
