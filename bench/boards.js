import { BoardDefinition, checkBoard } from '../dist/core/boards/index.js'
import { sized } from './size.js'

const context = { roles: new Set(['teacher']), rooms: new Set() }
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]

const configs = { task: { assignedRole: 'teacher' }, timer: { until: 'PT1H' } }
const kinds = { s: 'start', t: 'task', d: 'decision', p: 'parallel_split', j: 'parallel_join', w: 'timer', e: 'end' }

/** A board from `[source, target, condition]`; the first letter of an id is its kind. */
/** @param {any[][]} links */
function boardOf(links) {
  const ids = [...new Set(links.flatMap(([source, target]) => [String(source), String(target)]))]
  return BoardDefinition.parse({
    elements: ids.map((id) => ({ id, kind: kinds[id[0]], label: id, config: configs[kinds[id[0]]] ?? {} })),
    edges: links.map(([source, target, condition], nth) => ({
      ...{ id: `x${nth}`, source, target, sortOrder: nth },
      condition: condition ?? { type: 'always' },
    })),
  })
}

const often = { type: 'expression', expression: '1 > 2' }
const otherwise = { type: 'else' }

/** Parallel branches of tasks, each with decisions between them: what people draw. */
function drawn(elements) {
  /** @type {any[][]} */
  const links = [['s', 'p1']]
  const last = []
  for (let branch = 0; branch < 5; branch++) {
    let at = 'p1'
    for (let n = 0; n < Math.floor((elements - 5) / 20); n++) {
      const [decision, yes, no, meet] = ['d', 't', 't', 'w'].map((kind, nth) => `${kind}${branch}x${n}x${nth}`)
      links.push([at, decision], [decision, yes, often], [decision, no, otherwise], [yes, meet], [no, meet])
      at = meet
    }
    last.push([at, 'j1'])
  }
  return boardOf([...links, ...last, ['j1', 'e']])
}

/** Branches of which two edges each lead into one join: it never fires, and every set of choices is another state. */
function wild(elements) {
  /** @type {any[][]} */
  const links = [['s', 'p1']]
  for (let n = 0; n < Math.floor((elements - 4) / 3); n++)
    links.push(['p1', `d${n}`], [`d${n}`, `t${n}a`, often], [`d${n}`, `t${n}b`, otherwise], [`t${n}a`, 'j1'], [`t${n}b`, 'j1'])
  return boardOf([...links, ['j1', 'e']])
}

/** Every branch runs in a loop of its own, so states are all products of places. */
function looped(elements) {
  /** @type {any[][]} */
  const links = [['s', 'p1']]
  for (let n = 0; n < Math.floor((elements - 4) / 3); n++)
    links.push(['p1', `t${n}a`], [`t${n}a`, `d${n}`], [`d${n}`, `t${n}b`, often], [`t${n}b`, `d${n}`], [`d${n}`, 'j1', otherwise])
  return boardOf([...links, ['j1', 'e']])
}

function timed(board, rounds) {
  const times = []
  for (let n = 0; n < rounds; n++) {
    const begin = process.cpuUsage()
    checkBoard(board, context)
    const { user, system } = process.cpuUsage(begin)
    times.push((user + system) / 1_000)
  }
  return median(times)
}

/** What the check of a board takes, of boards that people draw and of those that have as many states as possible. */
export async function boards() {
  const row = (what, ms, most) => ({ what, measured: `${ms.toFixed(0)} ms`, reach: `under ${most} ms`, ok: ms < most })
  const worst = (elements, rounds) => Math.max(...[drawn, wild, looped].map((shape) => timed(shape(elements), rounds)))
  timed(drawn(200), 3)
  return [
    row('check of a board of 200 elements, CPU', timed(drawn(200), 9), 200),
    row('the same, the board with the most states', worst(200, 3), 200),
    row('check of a board of 2,000 elements with the most states, CPU', worst(sized(2_000, 100), 3), 5_000),
  ]
}
