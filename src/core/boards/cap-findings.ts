import type { BoardFinding } from './finding.ts'
import type { Steps } from './steps.ts'

/** Findings of one code that an answer lists. A board of 4 MB can have 400,000. */
const maxOfCode = 200

/** Findings one after the other, and undefined where the check may pause. */
export type Findings = Generator<BoardFinding | undefined>

/** The first findings of each code, and one that counts the others. Takes them one by one: all at once may fill the memory. */
export function* capFindings(findings: Findings): Steps<BoardFinding[]> {
  const listed: BoardFinding[] = []
  const counts = new Map<string, number>()
  for (const finding of findings) {
    if (finding === undefined) {
      yield
      continue
    }
    const count = (counts.get(finding.code) ?? 0) + 1
    counts.set(finding.code, count)
    if (count <= maxOfCode) listed.push(finding)
  }
  const last = new Map(listed.map((finding) => [finding.code, finding]))
  return listed.flatMap((finding) => {
    const more = (counts.get(finding.code) as number) - maxOfCode
    if (more <= 0 || last.get(finding.code) !== finding) return [finding]
    return [
      finding,
      { severity: finding.severity, code: finding.code, elementId: null, message: `and ${more} more with the code ${finding.code}` },
    ]
  })
}
