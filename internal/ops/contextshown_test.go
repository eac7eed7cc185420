package ops

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

// statements are pairs of an old and a new statement and a question about both. None of the
// new ones says that it replaces the old one.
var statements = [][3]string{
	{"Rent is 1,150 EUR a month.", "The landlord raised the rent, 1,240 EUR from now on.", "How much is the rent?"},
	{"The staging database runs on Postgres 14.", "We moved the staging database to Postgres 17 last night.", "Which Postgres does the staging database run on?"},
	{"Anna works at the bakery in Kiel.", "Anna started at a bank in Hamburg, she left the bakery.", "Where does Anna work?"},
	{"The dentist is Dr. Weber.", "New dentist, Dr. Okoye took over from Weber.", "Who is the dentist?"},
	{"Deploys go out on Friday afternoon.", "Deploys moved to Tuesday morning.", "When do deploys go out?"},
	{"The wifi password hint is the name of the dog.", "Changed the wifi password hint to the street of the school.", "What is the wifi password hint?"},
	{"My bike is a green Koga.", "Sold the Koga; my bike is a blue Canyon now.", "Which bike do I have?"},
	{"The standup is at 9:30.", "From this week the standup starts at 10:15.", "When is the standup?"},
	{"Heron uses Redis for its queue.", "Heron dropped Redis, the queue lives in NATS.", "What does Heron use for its queue?"},
	{"The car insurance costs 410 EUR a year.", "Car insurance went up to 455 EUR.", "What does the car insurance cost?"},
	{"Lena's birthday party is in the garden.", "Because of the rain Lena's birthday party is in the gym.", "Where is Lena's birthday party?"},
	{"The API limit is 100 requests a minute.", "They raised the API limit to 600 requests.", "What is the API limit?"},
	{"Tom is allergic to peanuts.", "The doctor says Tom is no longer allergic to peanuts, only to hazelnuts.", "What is Tom allergic to?"},
	{"The office is on the third floor.", "Our office moved down to the first floor.", "On which floor is the office?"},
	{"The shop certificate expires in May.", "Renewed the shop certificate, it expires next February.", "When does the shop certificate expire?"},
	{"Gym membership is at FitOne.", "Switched the gym membership to Boulderhaus.", "Where is my gym membership?"},
	{"The printer is called lp-north.", "Replaced the printer, the new one is called lp-attic.", "What is the printer called?"},
	{"The team lead is Miriam.", "Jonas is team lead since Miriam went on leave.", "Who is the team lead?"},
	{"Our linter is golint.", "We replaced the linter golint by staticcheck.", "Which linter do we use?"},
	{"The cat eats dry food from Felix.", "The vet put the cat on wet food for kidneys.", "What food does the cat eat?"},
	{"The train to Bern leaves at 7:04.", "New timetable: the train to Bern leaves at 6:58.", "When does the train to Bern leave?"},
	{"The budget for the kitchen is 8,000.", "We agreed to raise the kitchen budget, 9,500 at most.", "What is the budget for the kitchen?"},
	{"Backups run at midnight to the NAS.", "Backups now go to the cloud bucket at three.", "Where do backups go?"},
	{"The phone contract is with Vodaline.", "Cancelled Vodaline, the phone contract is with Telio.", "With whom is the phone contract?"},
	{"Sprint length is two weeks.", "The retro decided on a sprint length of one week.", "What is the sprint length?"},
	{"Shoe size of Mia is 31.", "Mia needs shoe size 33 already.", "What is Mia's shoe size?"},
	{"The meeting room is Alder.", "Alder is being painted, the meeting room is Birch.", "Which meeting room do we use?"},
	{"The flight to Oslo is on the 14th.", "The airline moved the flight to Oslo to the 16th.", "When is the flight to Oslo?"},
	{"The book club reads Middlemarch.", "The book club voted for Solaris next.", "What does the book club read?"},
	{"Main branch is called master.", "Renamed the main branch to trunk.", "What is the main branch called?"},
	{"The garden is watered every evening.", "Garden is watered on Mondays only, there is a ban.", "When is the garden watered?"},
	{"Invoices go to Frau Kern.", "Frau Kern retired, invoices go to the shared inbox.", "Where do invoices go?"},
	{"Node version is 18 on all servers.", "Servers were upgraded, the node version is 22.", "What is the node version on the servers?"},
	{"Piano lessons are on Thursday.", "Piano lessons were shifted to Saturday.", "When are the piano lessons?"},
	{"The key for the shed hangs in the hall.", "I put the key for the shed into the blue drawer.", "Where is the key for the shed?"},
	{"房租是每月四千元。", "房东涨了房租，从现在起每月四千五百元。", "房租是多少？"},
	{"周会在星期三下午。", "周会改到星期五上午。", "周会是什么时候？"},
	{"数据库用的是 MySQL。", "数据库已经迁移到 PostgreSQL。", "数据库用的是什么？"},
	{"Der Umzug ist im Juni.", "Der Umzug wurde auf den August verschoben.", "Wann ist der Umzug?"},
	{"Le médecin de famille est le docteur Roux.", "Nouveau médecin de famille, le docteur Petit.", "Qui est le médecin de famille ?"},
}

// statementFiles returns daily notes in which the old statements are three months older than
// the new ones.
func statementFiles() (files []txtar.File) {
	for i, s := range statements {
		for n, month := range []string{"2025-09", "2025-12"} {
			files = append(files, txtar.File{Name: fmt.Sprintf("memory/%s-%02d.md", month, i%28+1),
				Data: fmt.Appendf(nil, "# Day\n\n## 10:00 AM\n\n- %s\n", s[n])})
			if i >= 28 { // a second note of the day
				last := &files[len(files)-1]
				last.Name = strings.Replace(last.Name, month, map[string]string{"2025-09": "2025-10", "2025-12": "2026-01"}[month], 1)
			}
		}
	}
	return files
}

// TestNewestFirst checks that of an old and a new statement the new one stands first in a
// block, and that the old one names its place.
func TestNewestFirst(t *testing.T) {
	m := someMemory(t, statementFiles()...)
	both, first, named := 0, 0, 0
	for _, s := range statements {
		block := relevantBlock(t, m, api.ContextRequest{Query: s[2], MinCover: 0.4, Limit: 100, MaxTokens: 1000})
		old, new := strings.Index(block, s[0]), strings.Index(block, s[1])
		if old < 0 || new < 0 {
			continue
		}
		both++
		if new < old {
			first++
			if line := block[strings.LastIndexByte(block[:old], '\n')+1 : old]; strings.Contains(line, "[a newer line says as much: ") {
				named++
			}
		} else {
			t.Log(block)
		}
	}
	t.Logf("%d of %d new statements stand first, %d are named", first, both, named)
	if both < 26 || first*26 < both*21 {
		t.Errorf("of %d blocks with both statements, the new one stands first in %d", both, first)
	}
}

// TestShownOnce checks that a session is shown each line once, and again after a compaction
// or a change.
func TestShownOnce(t *testing.T) {
	m := someMemory(t, append(statementFiles(), txtar.File{Name: "MEMORY.md", Data: []byte("# Memory\n\n- The shop sells kites to the wind lovers.\n")},
		txtar.File{Name: "memory/2026-02-05.md", Data: []byte("# Today\n\n- [ ] Order kites of silk for the window.\n")})...)
	ask := func(session, query string, fresh bool) string {
		return relevantBlock(t, m, api.ContextRequest{Query: query, MinCover: 0.4, Limit: 100, MaxTokens: 1000, Session: session,
			Fresh: api.Fresh{Sync: &fresh}})
	}
	shown := map[string]int{}
	for round := range 3 { // 120 prompts
		for _, s := range statements {
			for line := range strings.Lines(ask("a", strings.Repeat("please ", round)+s[2], true)) {
				if shown[line]++; shown[line] > 1 && !strings.HasPrefix(line, "[Memory:") {
					t.Errorf("shown again: %s", line)
				}
			}
		}
	}
	if len(shown) < 60 {
		t.Errorf("only %d lines are shown", len(shown))
	}
	const rent = "How much is the rent?"
	if ask("a", rent, true) != "" || ask("b", rent, true) == "" || ask("", rent, true) == "" || ask("", rent, true) == "" {
		t.Error("the rent is not shown once for each session")
	}
	if ask("b", "What is the API limit?", true) == "" || ask("b", "What is the API limit?", false) == "" {
		t.Error("an answer that came too late counts as shown")
	}
	start := func(session string) {
		answer, err := m.Do(t.Context(), api.Caller{AsOwner: true}, api.RequestOf(api.ContextRequest{Session: session}).WithDefaults())
		checkError(t, err)
		if !strings.Contains(answer.(*api.ContextAnswer).Text, "kites") {
			t.Errorf("the start block lacks MEMORY.md: %s", answer.(*api.ContextAnswer).Text)
		}
	}
	start("a")
	if ask("a", rent, true) == "" {
		t.Error("the rent is not shown again after a compaction")
	}
	const kites = "Which kites did we want for the shop window?"
	if ask("a", kites, true) != "" || ask("c", kites, true) == "" {
		t.Errorf("lines of the start block are shown again: %s", ask("a", kites, true))
	}
	start("a")
	if text := ask("a", kites, false); text != "" {
		t.Errorf("after the same prompt, lines of the next start block are shown again: %s", text)
	}
	for i := range 2 * maxShownSessions {
		ask(fmt.Sprint("many", i), rent, true)
	}
	if n := len(m.shown.sessions); n != maxShownSessions {
		t.Errorf("%d sessions are recorded", n)
	}
	for i := range 2 * maxShownLines {
		m.shown.sessions[0].add(fmt.Sprint("line ", i))
	}
	if n := len(m.shown.sessions[0].lines); n > maxShownLines+1 {
		t.Errorf("%d lines are recorded", n)
	}
}

// TestOlderAlone checks that an old statement names the place of the new one also if the
// session was shown the new one before.
func TestOlderAlone(t *testing.T) {
	m := someMemory(t,
		txtar.File{Name: "memory/2025-09-01.md", Data: []byte("# Day\n\n## 10:00 AM\n\n- The staging database runs on Postgres 14.\n")},
		txtar.File{Name: "memory/2026-02-05.md", Data: []byte("# Day\n\n## 10:00 AM\n\n- We moved the staging database to Postgres 17.\n")})
	answer, err := m.Do(t.Context(), api.Caller{AsOwner: true}, api.RequestOf(api.ContextRequest{Session: "a"}).WithDefaults())
	checkError(t, err)
	block := relevantBlock(t, m, api.ContextRequest{Query: "Which Postgres does the staging database run on?", MinCover: 0.4,
		Limit: 100, MaxTokens: 1000, Session: "a"})
	if !strings.Contains(answer.(*api.ContextAnswer).Text, "Postgres 17") || strings.Contains(block, "Postgres 17") ||
		!strings.Contains(block, "[a newer line says as much: memory/2026-02-05.md:5]") {
		t.Errorf("after %s\nfollows %s", answer.(*api.ContextAnswer).Text, block)
	}
}
