//! What a terminal itself tells its learner.

use std::time::Duration;

use lab::Lang;

/// Words on a line of their own, so that they are not taken for a program's.
pub(crate) fn framed(words: &str) -> String {
    format!("\r\n\u{1b}[7m {words} \u{1b}[0m\r\n")
}

pub(crate) fn will_idle(lang: Lang, left: Duration) -> String {
    let left = left.as_secs();
    match lang {
        Lang::En => {
            format!("Nothing has been typed for a while: this terminal ends in {left} s. Any key keeps it.")
        }
        Lang::Ja => format!(
            "しばらく入力がないため、あと {left} 秒でこのターミナルを終了します。続けるには何かキーを押してください。"
        ),
    }
}

pub(crate) fn idle(lang: Lang, limit: Duration) -> String {
    let limit = span(lang, limit);
    match lang {
        Lang::En => format!("Nothing was typed for {limit}: this terminal has ended."),
        Lang::Ja => format!("{limit}間入力がなかったため、このターミナルを終了しました。"),
    }
}

pub(crate) fn time_runs_out(lang: Lang, left: Duration) -> String {
    let left = left.as_secs();
    match lang {
        Lang::En => {
            format!("This terminal's time is up in {left} s. Take your files into the editor before that.")
        }
        Lang::Ja => format!(
            "あと {left} 秒でこのターミナルの利用時間が終わります。必要なファイルは今のうちにエディターへ取り込んでください。"
        ),
    }
}

pub(crate) fn time_up(lang: Lang, limit: Duration) -> String {
    let limit = span(lang, limit);
    match lang {
        Lang::En => format!("This terminal was open for {limit}, which is the longest: it has ended."),
        Lang::Ja => format!("利用時間の上限 ({limit}) に達したため、このターミナルを終了しました。"),
    }
}

pub(crate) const fn stopping(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "The service restarts: this terminal has ended.",
        Lang::Ja => "サービスを再起動するため、このターミナルを終了しました。",
    }
}

fn span(lang: Lang, time: Duration) -> String {
    let seconds = time.as_secs();
    match (lang, seconds % 60) {
        (Lang::En, 0) => format!("{} minutes", seconds / 60),
        (Lang::En, _) => format!("{seconds} s"),
        (Lang::Ja, 0) => format!("{} 分", seconds / 60),
        (Lang::Ja, _) => format!("{seconds} 秒"),
    }
}
