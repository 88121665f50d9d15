//! `docs/evidence.md` shows the tables as they are.

use std::path::{Path, PathBuf};

use evidence::{Evidence, schema};

use crate::support::{query, rows};

const BEGIN: &str = "<!-- tables: begin (made from server/evidence/src/schema.rs) -->\n\n";
const END: &str = "\n\n<!-- tables: end -->";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence.md")
}

/// `UPDATE_DOCS=1 cargo test -p evidence documentation` writes the tables anew.
#[test]
fn the_page_shows_the_tables() {
    let text = std::fs::read_to_string(page()).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the begin marker");
    let (shown, after) = rest.split_once(END).expect("the end marker");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page(), [before, BEGIN, &schema::markdown(), END, after].concat()).unwrap();
    } else {
        assert!(
            shown == schema::markdown(),
            "docs/evidence.md is not what the schema says: run with UPDATE_DOCS=1"
        );
    }
}

#[test]
fn the_database_has_the_tables() {
    let evidence = Evidence::empty().unwrap();
    let names: Vec<&str> = schema::TABLES.iter().map(|table| table.name).collect();
    let found =
        rows(&evidence, "select name from sqlite_schema where type in ('table', 'view') order by rowid");
    assert_eq!(found, serde_json::json!(names.iter().map(|name| [name]).collect::<Vec<_>>()));
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
