setTimeout(() => process.abort(), 100)
