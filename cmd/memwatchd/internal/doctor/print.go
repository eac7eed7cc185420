package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// printDiagnosis shows what a doctor has found, by groups. What is well takes one line
// of a group, unless all of it is to be seen.
func printDiagnosis(w io.Writer, width int, p *cli.Printer, findings []finding, all bool) error {
	var b strings.Builder
	var counts [len(markNames)]int
	for i, from := 0, 0; i < len(findings); i++ {
		counts[findings[i].Mark]++
		if i+1 < len(findings) && findings[i+1].Group == findings[from].Group {
			continue
		}
		if from > 0 {
			b.WriteByte('\n')
		}
		printFindings(&b, p, width, findings[from:i+1], all)
		from = i + 1
	}
	fmt.Fprintf(&b, "\n%s, %s, %s, %d ok\n", term.Plural(counts[problem], "problem"), term.Plural(counts[warning], "warning"), term.Plural(counts[note], "note"), counts[fine])
	_, err := io.WriteString(w, b.String())
	return err
}

// printFindings shows those of one group.
func printFindings(b *strings.Builder, p *cli.Printer, width int, findings []finding, all bool) {
	fmt.Fprintln(b, p.Style(term.AsTitle, findings[0].Group))
	var names []string // of what is well
	for _, f := range findings {
		if f.Mark == fine && !all {
			if n := len(names); n == 0 || names[n-1] != f.Name {
				names = append(names, f.Name)
			}
		}
	}
	if len(names) > 0 {
		printFinding(b, p, width, finding{Text: strings.Join(names, ", ")})
	}
	for _, f := range findings {
		if f.Mark != fine || all {
			printFinding(b, p, width, f)
		}
	}
}

// findingIndent is where the text of a finding begins.
const findingIndent = "           "

func printFinding(b *strings.Builder, p *cli.Printer, width int, f finding) {
	label := fmt.Sprintf("%-7s", f.Mark)
	fmt.Fprintf(b, "  %s  %s\n", p.Style([...]term.Style{fine: term.AsGood, note: term.AsMuted, warning: term.AsChanged, problem: term.AsBad}[f.Mark], label),
		term.Wrap(term.EscapeLine(f.Text), width, findingIndent))
	if f.Advice != "" {
		fmt.Fprintln(b, findingIndent+term.Wrap(term.EscapeLine(f.Advice), width, findingIndent))
	}
	if f.Command != "" { // never broken, so that it can be copied
		fmt.Fprintln(b, findingIndent+p.Style(term.AsTitle, term.EscapeLine(f.Command)))
	}
}
