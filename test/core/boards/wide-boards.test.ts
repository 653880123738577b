import { expect, test } from 'vitest'
import { BoardDefinition, checkBoard } from '../../../src/core/boards/index.ts'

const bare = (id: string, kind: string) => ({ id, kind, label: id, columnId: null, sortOrder: 0, config: {} })
const form = (id: string) => {
  const fields = [{ name: `v_${id}`, label: id, kind: 'text', required: true, maxLength: 100 }]
  return { ...bare(id, 'form'), config: { assignedRole: 'teacher', skippable: false, fields } }
}

/** A split, or a decision, with two forms in each of its branches. */
function wideBoard(kind: 'parallel_split' | 'decision', branches: number) {
  const isSplit = kind === 'parallel_split'
  const meeting = isSplit ? 'join' : 'end'
  const conditionOf = (nth: number) => (isSplit ? 'always' : nth === branches - 1 ? 'else' : 'expression')
  const edges: Record<string, unknown>[] = []
  const edge = (source: string, target: string, type = 'always') => {
    const condition = type === 'expression' ? { type, expression: 'true' } : { type }
    edges.push({ id: `e${edges.length}`, source, target, condition, sortOrder: edges.length })
  }
  edge('start', 'fork')
  const elements = Array.from({ length: branches }, (_, nth) => {
    edge('fork', `a${nth}`, conditionOf(nth))
    edge(`a${nth}`, `b${nth}`)
    edge(`b${nth}`, meeting)
    return [form(`a${nth}`), form(`b${nth}`)]
  }).flat()
  if (isSplit) edge('join', 'end')
  const joins = isSplit ? [bare('join', 'parallel_join')] : []
  return BoardDefinition.parse({ elements: [bare('start', 'start'), bare('fork', kind), ...elements, ...joins, bare('end', 'end')], edges })
}

test.each(['parallel_split', 'decision'] as const)(
  'a board with 900 branches behind a %s is checked in 5 s of CPU: strangers may send one',
  (kind) => {
    const board = wideBoard(kind, 900)
    const before = process.cpuUsage().user
    const findings = checkBoard(board, { roles: new Set(['teacher']), rooms: new Set() }, { isTemplate: true })
    expect(findings).toEqual([])
    expect((process.cpuUsage().user - before) / 1e6).toBeLessThan(5)
  },
)
