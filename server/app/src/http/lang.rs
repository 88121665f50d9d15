//! Which language a caller reads.

use axum::extract::{FromRequestParts, Query};
use axum::http::{header, request::Parts};
use lab::Lang;
use serde::Deserialize;
use utoipa::IntoParams;

/// `?lang=`, else the first of `Accept-Language` that we speak, else English.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Language(pub(crate) Lang);

/// Language of texts: `ja` or `en`; by default the one that `Accept-Language` prefers.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LangParam {
    lang: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Language {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let asked = Query::<LangParam>::try_from_uri(&parts.uri).ok().and_then(|query| query.0.lang);
        let accepted = parts.headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let lang = asked.as_deref().and_then(spoken).or_else(|| accepted.and_then(preferred));
        Ok(Self(lang.unwrap_or(Lang::En)))
    }
}

fn spoken(tag: &str) -> Option<Lang> {
    let primary = tag.split('-').next()?;
    Lang::ALL.into_iter().find(|lang| primary.eq_ignore_ascii_case(lang.as_str()))
}

/// The language of highest weight that we speak ([RFC 9110, 12.5.4](https://www.rfc-editor.org/rfc/rfc9110#field.accept-language)).
fn preferred(header: &str) -> Option<Lang> {
    let mut best: Option<(f32, Lang)> = None;
    for range in header.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let Some(lang) = parts.next().and_then(spoken) else { continue };
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
        if weight > 0.0 && best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, lang));
        }
    }
    best.map(|(_, lang)| lang)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_language_that_we_speak_wins() {
        for (header, lang) in [
            ("ja,en-US;q=0.9,en;q=0.8", Some(Lang::Ja)),
            ("fr, en;q=0.5, ja;q=0.7", Some(Lang::Ja)),
            ("en-GB", Some(Lang::En)),
            ("ja;q=0", None),
            ("de, *", None),
            ("", None),
        ] {
            assert_eq!(preferred(header), lang, "{header}");
        }
    }
}
