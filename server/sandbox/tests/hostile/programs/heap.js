const kept = []; for (;;) kept.push({ n: kept.length })
