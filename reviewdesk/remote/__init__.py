"""Files at any address that fsspec knows: s3, gs, az, sftp, http and more."""
