# The workflow with the versions of constraints.txt:
#   docker build --tag shuffledp .
#   docker run --rm --volume "$PWD/figures:/shuffledp/figures" shuffledp --cores all all_figures --forcerun plot
FROM python:3.12-slim

# With "figures,workflow,training" it trains too, and is several GB larger.
ARG EXTRAS=figures,workflow

# The folder is the user's, since Snakemake keeps a folder of its own in it; WORKDIR alone would leave it to root.
RUN useradd --create-home --uid 1000 shuffledp && install --directory --owner shuffledp /shuffledp
WORKDIR /shuffledp
COPY --chown=shuffledp . .
RUN python -m pip install --no-cache-dir --constraint constraints.txt --editable ".[${EXTRAS}]"

USER 1000
ENTRYPOINT ["snakemake"]
CMD ["--cores", "all"]
