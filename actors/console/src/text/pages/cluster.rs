//! Texts of the page Cluster.

use crate::text::texts;

texts! {
    SENTENCE = "The nodes that keep this yard together. A majority of those with a vote must run.", "이 시스템을 함께 관리하는 노드. 투표권이 있는 노드의 과반수가 실행 중이어야 합니다.";
    MEMBERS = "Members", "구성 노드";
    NODE = "Node", "노드";
    THIS_NODE = "this node", "이 노드";
    RANK = "Rank", "역할";
    LEADER = "Leader", "리더";
    VOTER = "Voter", "투표 노드";
    LEARNER = "Learner", "학습 노드";
    ADDRESS = "Address", "주소";
    BEHIND = "Behind", "뒤처진 항목";
    CONTACT = "Last contact", "마지막 응답";
    ROUND_TRIP = "Round trip", "왕복 시간";
    SKEW = "Clock", "시계 차이";
    LEVEL = "Format", "형식 단계";
    SNAPSHOT = "Snapshot on its way: {percent} of {bytes}", "스냅샷 전송 중: {bytes} 중 {percent}";
    OTHER_SETTINGS = "other settings", "설정이 다름";
    LED_BY = "Leader", "리더";
    NOBODY = "none", "없음";
    EPOCH = "epoch {epoch}", "에폭 {epoch}";
    VOTERS = "Voters", "투표 노드 수";
    MAJORITY = "{n} must run", "{n}대 이상 실행 필요";
    LEADERS = "Changes of the leader", "리더 변경";
    PASSED_ON = "Requests passed on", "리더에게 전달한 요청";
    SINCE_START = "since the start of this node", "이 노드가 시작된 뒤";
    NO_CHANGE = "No change would succeed now", "지금은 변경할 수 없음";
    ATTENTION = "Needs attention", "확인 필요";
    ALONE = "This node runs alone", "이 노드는 단독으로 실행 중입니다";
    ALONE_TEXT = "If its machine is lost, the yard stops. With two further nodes it survives the loss of one machine. Set cluster.listen in the configuration of this node and reload it. Then invite the other nodes, and start them.", "이 장비를 잃으면 전체가 멈춥니다. 노드를 2대 더하면 장비 1대를 잃어도 계속 동작합니다. 이 노드의 설정에 cluster.listen을 지정하고 설정을 다시 읽으십시오. 그런 다음 다른 노드를 초대하고 시작하십시오.";
    INVITE = "Invite a node…", "노드 초대…";
    PROMOTE = "Give a vote…", "투표권 주기…";
    REMOVE = "Remove…", "제거…";
    ASK_INVITE = "Invite a node?", "노드를 초대하시겠습니까?";
    ASK_INVITE_TEXT = "The page shows a secret once. A node can join with it for 15 minutes.", "비밀 값을 한 번만 표시합니다. 이 값으로 15분 동안 노드가 참가할 수 있습니다.";
    VERB_INVITE = "Invite", "초대";
    ASK_PROMOTE = "Give node {node} a vote?", "노드 {node}에 투표권을 주시겠습니까?";
    ASK_PROMOTE_TEXT = "From then on a majority counts it. A learner that is up to date gets a vote by itself.", "이후 과반수 계산에 포함됩니다. 뒤처지지 않은 학습 노드는 자동으로 투표권을 받습니다.";
    VERB_PROMOTE = "Give a vote", "투표권 주기";
    ASK_REMOVE = "Remove node {node}?", "노드 {node}을(를) 제거하시겠습니까?";
    ASK_REMOVE_TEXT = "It is no member any more, and its number is never given again. Stop its process afterwards.", "더 이상 구성 노드가 아니며 번호는 다시 쓰지 않습니다. 이후 해당 프로세스를 중지하십시오.";
    VERB_REMOVE = "Remove", "제거";
    PROMOTED = "Node {node} votes", "투표권 부여: 노드 {node}";
    REMOVED = "Node {node} is no member any more", "구성에서 제거: 노드 {node}";
    INVITED = "The secret of the invitation, shown only now. On the new machine:", "초대의 비밀 값이며 지금만 표시합니다. 새 장비에서 실행하십시오:";
}
