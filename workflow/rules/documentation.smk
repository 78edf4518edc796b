rule document_config:
    input:
        request=request("config/README.json"),
    output:
        page="config/README.md",
        record="config/README.json",
    log:
        f"{LOGS}/document_config.log",
    benchmark:
        f"{BENCHMARKS}/document_config.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    message:
        "Writing the page of configuration keys."
    script:
        "../scripts/document_config.py"
