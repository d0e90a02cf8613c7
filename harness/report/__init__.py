"""What people see: tables, figures, Markdown, the terminal summary."""
