import { BoardDefinition, type BoardElement } from '../../../src/core/boards/index.ts'

type Config = Partial<Record<string, unknown>>

const defaults: Readonly<Record<string, Config>> = {
  task: { assignedRole: 'teacher' },
  checkpoint: { assignedRole: 'principal' },
  form: { assignedRole: 'teacher', fields: [{ name: 'people', label: 'People', kind: 'number', required: true }] },
  timer: { until: 'PT1H' },
  message: { room: 'space', body: 'Alarm' },
  report: { title: 'Report', template: '# Report' },
}

const kinds: Readonly<Record<string, BoardElement['kind']>> = {
  s: 'start',
  t: 'task',
  c: 'checkpoint',
  f: 'form',
  d: 'decision',
  p: 'parallel_split',
  j: 'parallel_join',
  w: 'timer',
  m: 'message',
  r: 'report',
  e: 'end',
}

/**
 * A board from lines such as `s > t1 > e`, `d1 -vars.people > 10-> t1`, `d1 -else-> e`. The first letter of an id is its kind; `configs` has the
 * configuration of an element that the default does not fit.
 */
export function sketch(
  text: string,
  configs: Readonly<Record<string, Config>> = {},
  more: Readonly<Record<string, unknown>> = {},
): BoardDefinition {
  const edges = text
    .split(/[\n;]/)
    .map((line) => line.trim())
    .filter(Boolean)
    .flatMap(edgesOf)
  const ids = [...new Set(edges.flatMap(({ source, target }) => [source, target]))]
  return BoardDefinition.parse({
    elements: ids.map((id) => {
      const kind = kinds[id[0] as string] as BoardElement['kind']
      return { id, kind, label: id, config: { ...defaults[kind], ...configs[id] } }
    }),
    edges: edges.map((edge, nth) => ({ ...edge, id: `${edge.source}-${edge.target}-${nth}`, sortOrder: nth })),
    ...more,
  })
}

const named = ['else', 'approved', 'rejected', 'timed_out']

function edgesOf(line: string) {
  const parts = line.split(/\s(?:-(.+?)-)?>\s/)
  return Array.from({ length: (parts.length - 1) / 2 }, (_, nth) => {
    const [source, condition, target] = parts.slice(nth * 2) as [string, string | undefined, string]
    const implied = source.startsWith('c') ? 'approved' : 'always'
    const type = condition === undefined ? implied : named.includes(condition) ? condition : 'expression'
    return { source, target, condition: type === 'expression' ? { type, expression: condition } : { type } }
  })
}

/** Conditions over a text whose time or memory grows faster than it. */
export const costlyExpressions = (text: string): string[] => [
  `${text}.contains(${text})`,
  `${text}.contains(dyn('a'))`,
  `${text}.contains('${'a'.repeat(101)}')`,
  `${text}.indexOf(${text}) > 1`,
  `${text}.lastIndexOf(${text} + 'a', 2) > 1`,
  `${text}.matches('(a+)+$')`,
  `${text}.split('').size() > 1`,
  `cel.bind(x, ${text} + ${text}, cel.bind(y, x + x, y != ''))`,
  `bytes(bytes(${text}).hex()).base64() != ''`,
  `duration(${text}) > duration('1s')`,
  `duration('${'9'.repeat(40)}') > duration('1s')`,
  `timestamp(0).getHours(${text}) > 1`,
]
