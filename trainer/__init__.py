"""Fine-tunes a small model on approved memory, serves it over HTTP and watches the machine it runs on."""
