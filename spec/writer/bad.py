def bad_vectors():
    return []
