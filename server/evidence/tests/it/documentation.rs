//! `docs/evidence.md` shows the tables as they are.

use std::path::{Path, PathBuf};

use evidence::{Evidence, schema};

use crate::support::{query, rows};

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence.md")
}

/// `UPDATE_DOCS=1 cargo test -p evidence documentation` writes both parts anew.
#[test]
fn the_page_shows_tables_and_functions() {
    let mut text = std::fs::read_to_string(page()).unwrap();
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    for (part, made) in [("tables", schema::markdown()), ("functions", schema::functions_markdown())] {
        let begin = format!("<!-- {part}: begin (made from server/evidence/src/schema) -->\n\n");
        let end = format!("\n\n<!-- {part}: end -->");
        let (before, rest) = text.split_once(&begin).expect("the begin marker");
        let (shown, after) = rest.split_once(&end).expect("the end marker");
        assert!(
            update || shown == made,
            "the {part} of docs/evidence.md are not what the schema says: run with UPDATE_DOCS=1"
        );
        text = [before, &begin, &made, &end, after].concat();
    }
    if update {
        std::fs::write(page(), text).unwrap();
    }
}

#[test]
fn the_database_has_the_tables() {
    let evidence = Evidence::empty().unwrap();
    let names: Vec<_> = schema::TABLES.iter().map(|table| [table.kind.as_str(), table.name]).collect();
    let found = rows(
        &evidence,
        "select type, name from sqlite_schema where type in ('table', 'view') order by rowid",
    );
    assert_eq!(found, serde_json::json!(names));
    for table in schema::TABLES {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(
            evidence.check_sql(&format!("select * from {}", table.name)).unwrap(),
            columns,
            "{}",
            table.name
        );
    }
}

/// Every ```sql block of the page is a query that works.
#[test]
fn the_examples_work() {
    let text = std::fs::read_to_string(page()).unwrap();
    let evidence = crate::support::build(&[]);
    let examples: Vec<&str> =
        text.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 5, "{} examples", examples.len());
    for sql in examples {
        evidence.check_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        if !sql.contains(':') {
            query(&evidence, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }
}
