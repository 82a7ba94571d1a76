"""DynamoDB engines that run on a laptop: dynoxide on disk, moto in memory."""
