//! Texts of the page Find.

use crate::text::texts;

texts! {
    PAGES = "Pages", "페이지";
    ACTIONS = "Actions", "동작";
    TYPE = "Type a part of a name", "이름의 일부를 입력하십시오";
    NOTHING = "Nothing has “{text}” in its name", "이름에 “{text}”가 들어간 것이 없음";
}
