"""Tables of people: read them, find their domain, count them; the census that ships with ldpopt."""
