//! Texts of the page Find.

use crate::text::texts;

texts! {
    PAGES = "Pages", "페이지";
    POOLS = "Box pools", "박스 풀";
    ACTIONS = "Actions", "동작";
    TYPE = "Type a part of a name, or of an action such as “drain”", "이름의 일부 또는 “비우기” 같은 동작을 입력하십시오";
    RECENT = "Opened last", "최근에 연 항목";
    FOUND = "Found: {n}", "찾은 항목: {n}개";
    NOTHING_BODY = "Hosts, pages, files with a grade, tasks, links that work, box pools and actions were looked through, as far as you may see them.", "볼 수 있는 호스트, 페이지, 등급이 있는 파일, 작업, 유효한 공유 링크, 박스 풀, 동작에서 찾았습니다.";
    NEW_LINK = "Create a new link", "새 공유 링크 만들기";
    NEW_USER = "Add a user", "사용자 추가";
    NEW_TOKEN = "Create a token", "토큰 만들기";
    INVITE_NODE = "Invite a node", "노드 초대";
    RETRY_ALL = "Retry all failed copies", "실패한 복사 모두 다시 시도";
    RELOAD = "Reload the settings", "설정 다시 읽기";
    DRAIN = "Drain {host}", "{host} 비우기";
    MAINTAIN = "Put {host} into maintenance", "{host} 점검 시작";
    ACTIVATE = "Activate {host}", "{host} 운영으로 전환";
    PIN = "Pin {file}", "{file} 고정";
    UNPIN = "Unpin {file}", "{file} 고정 해제";
    TRUST = "Trust {host} again", "{host} 다시 신뢰";
    NOTHING = "Nothing has “{text}” in its name", "이름에 “{text}”가 들어간 것이 없음";
}
