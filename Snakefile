"""The workflow for `snakemake` in the root of the repository; it stands in workflow/Snakefile."""

from snakemake.exceptions import WorkflowError

from shuffledp.reproduction.sections import reading

try:
    # Snakemake, which reads it next, would name no line.
    reading.check_file("config/config.yaml")
except ValueError as error:
    raise WorkflowError(str(error)) from None


include: "workflow/Snakefile"


# Snakemake lets no included file choose what is made by default.
workflow.default_target = "all"
