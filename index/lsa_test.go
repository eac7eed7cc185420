package index

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// lsaDimensions is the number of dimensions of latent semantic analysis.
const lsaDimensions = 200

// newLSA returns an embedding by latent semantic analysis of the texts of documents
// (Deerwester et al. 1990). It needs no model and is weaker than one: it knows only
// which words occur together in these texts. The singular vectors are those of a
// randomized decomposition (Halko, Martinsson and Tropp 2011).
func newLSA(docs map[string]*memory.Document) func(string) []float32 {
	a := newAnalyzer()
	number := make(map[string]int32) // of a term
	var df []int
	count := func(text string, add bool) map[int32]float64 {
		row := make(map[int32]float64)
		a.eachToken(text, func(t token) {
			n, ok := number[t.term]
			if !ok && add {
				n, ok = int32(len(df)), true
				number[t.term] = n
				df = append(df, 0)
			}
			if ok && !isStopWord(text, t) {
				row[n]++
			}
		})
		return row
	}
	var counts []map[int32]float64
	seen := make(map[TextKey]bool)
	for _, path := range slices.Sorted(maps.Keys(docs)) {
		for t := range Texts(docs[path]) {
			if seen[t.Key] {
				continue
			}
			seen[t.Key] = true
			row := count(t.Text, true)
			for n := range row {
				df[n]++
			}
			counts = append(counts, row)
		}
	}
	weigh := func(row map[int32]float64) sparseRow {
		var s sparseRow
		sum := 0.0
		for n := range row {
			w := (1 + math.Log(row[n])) * idf(len(counts), df[n])
			s = append(s, sparseValue{n, w})
			sum += w * w
		}
		for i := range s {
			s[i].value /= math.Sqrt(sum)
		}
		slices.SortFunc(s, func(a, b sparseValue) int { return int(a.column - b.column) })
		return s
	}
	rows := make([]sparseRow, len(counts))
	for i, row := range counts {
		rows[i] = weigh(row)
	}
	basis := rightSingular(rows, len(df), min(lsaDimensions, len(rows)))
	return func(text string) []float32 {
		vector := make([]float32, lsaDimensions)
		for _, v := range weigh(count(text, false)) {
			for d := range basis {
				vector[d] += float32(v.value * basis[d][v.column])
			}
		}
		return normalize(vector)
	}
}

type sparseValue struct {
	column int32
	value  float64
}

type sparseRow []sparseValue

// rightSingular returns the first k right singular vectors of a sparse matrix.
func rightSingular(rows []sparseRow, columns, k int) [][]float64 {
	r := rand.New(rand.NewPCG(1, 1))
	width := min(k+20, len(rows))
	// q spans the range of the matrix, after two power iterations.
	q := make([][]float64, width) // columns of len(rows)
	for d := range q {
		omega := make([]float64, columns)
		for i := range omega {
			omega[i] = r.NormFloat64()
		}
		q[d] = timesColumn(rows, omega)
	}
	orthonormalize(q)
	for range 2 {
		for d := range q {
			q[d] = timesColumn(rows, timesRow(q[d], rows, columns))
		}
		orthonormalize(q)
	}
	// The right singular vectors of b = qᵀ·matrix are those of the matrix.
	b := make([][]float64, width)
	for d := range b {
		b[d] = timesRow(q[d], rows, columns)
	}
	gram := make([][]float64, width)
	for i := range gram {
		gram[i] = make([]float64, width)
		for j := range i + 1 {
			gram[i][j] = dot(b[i], b[j])
			gram[j][i] = gram[i][j]
		}
	}
	values, vectors := eigen(gram)
	basis := make([][]float64, 0, k)
	for d := range min(k, width) {
		if values[d] < 1e-9 {
			break
		}
		v := make([]float64, columns)
		for i := range b {
			addScaled(v, b[i], vectors[i][d]/math.Sqrt(values[d]))
		}
		basis = append(basis, v)
	}
	return basis
}

func timesColumn(rows []sparseRow, x []float64) []float64 {
	y := make([]float64, len(rows))
	for i, row := range rows {
		for _, v := range row {
			y[i] += v.value * x[v.column]
		}
	}
	return y
}

func timesRow(x []float64, rows []sparseRow, columns int) []float64 {
	y := make([]float64, columns)
	for i, row := range rows {
		for _, v := range row {
			y[v.column] += v.value * x[i]
		}
	}
	return y
}

func dot(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

func addScaled(x, y []float64, by float64) {
	for i := range x {
		x[i] += by * y[i]
	}
}

// orthonormalize applies the modified Gram–Schmidt process.
func orthonormalize(q [][]float64) {
	for i := range q {
		for j := range i {
			addScaled(q[i], q[j], -dot(q[i], q[j]))
		}
		length := math.Sqrt(dot(q[i], q[i]))
		for k := range q[i] {
			q[i][k] /= max(length, 1e-12)
		}
	}
}

// eigen returns the eigenvalues of a symmetric matrix, greatest first, and its
// eigenvectors as columns, by Jacobi rotations. It changes the matrix.
func eigen(m [][]float64) (values []float64, vectors [][]float64) {
	n := len(m)
	vectors = make([][]float64, n)
	for i := range vectors {
		vectors[i] = make([]float64, n)
		vectors[i][i] = 1
	}
	for range 30 {
		off := 0.0
		for i := range n {
			for j := range i {
				off += m[i][j] * m[i][j]
			}
		}
		if off < 1e-18 {
			break
		}
		for i := range n {
			for j := range i {
				if math.Abs(m[i][j]) < 1e-15 {
					continue
				}
				theta := (m[i][i] - m[j][j]) / (2 * m[i][j])
				t := math.Copysign(1, theta) / (math.Abs(theta) + math.Sqrt(theta*theta+1))
				c := 1 / math.Sqrt(t*t+1)
				s := t * c
				for k := range n {
					m[k][j], m[k][i] = c*m[k][j]-s*m[k][i], s*m[k][j]+c*m[k][i]
				}
				for k := range n {
					m[j][k], m[i][k] = c*m[j][k]-s*m[i][k], s*m[j][k]+c*m[i][k]
				}
				for k := range n {
					vectors[k][j], vectors[k][i] = c*vectors[k][j]-s*vectors[k][i], s*vectors[k][j]+c*vectors[k][i]
				}
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if m[a][a] > m[b][b] {
			return -1
		}
		return 1
	})
	sorted := make([][]float64, n)
	for k := range sorted {
		sorted[k] = make([]float64, n)
		for d, i := range order {
			sorted[k][d] = vectors[k][i]
		}
	}
	for _, i := range order {
		values = append(values, m[i][i])
	}
	return values, sorted
}
