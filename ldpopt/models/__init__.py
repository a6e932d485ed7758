"""What a question is made of: notions of privacy and objectives."""
