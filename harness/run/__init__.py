"""What happens in the parent: the session, its pool of workers, resuming, uploading."""
