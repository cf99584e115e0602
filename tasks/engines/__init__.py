"""What a stage drives: indexes, encoders, scanners. No Prefect inside."""
