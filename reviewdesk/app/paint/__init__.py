"""Painters: data and a width in, styled lines out."""
