"""Jobs: long-running changes of many items while the service runs. Any worker can resume an interrupted job."""
