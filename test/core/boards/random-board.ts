import fc from 'fast-check'

/** A block of a board with one way in and one way out. */
type Block =
  | { kind: 'one'; letter: 't' | 'w' | 'm' | 'c' | 'f' }
  | { kind: 'seq'; blocks: Block[] }
  | { kind: 'choice'; blocks: Block[] }
  | { kind: 'parallel'; blocks: Block[] }
  | { kind: 'again'; block: Block }

const { block } = fc.letrec<{ block: Block }>((tie) => ({
  block: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom('t', 'w', 'm', 'c', 'f').map((letter) => ({ kind: 'one' as const, letter: letter as 't' })),
    fc.array(tie('block'), { minLength: 2, maxLength: 3 }).map((blocks) => ({ kind: 'seq' as const, blocks })),
    fc.array(tie('block'), { minLength: 2, maxLength: 3 }).map((blocks) => ({ kind: 'choice' as const, blocks })),
    fc.array(tie('block'), { minLength: 2, maxLength: 3 }).map((blocks) => ({ kind: 'parallel' as const, blocks })),
    tie('block').map((inner) => ({ kind: 'again' as const, block: inner })),
  ),
}))

/** Lines of the board, and the element that the next block follows. */
function lines(block: Block): string {
  let count = 0
  const written: string[] = []
  const fresh = (letter: string) => {
    count += 1
    return `${letter}${count}`
  }
  const link = (from: string, to: string, condition?: string) =>
    written.push(condition ? `${from} -${condition}-> ${to}` : `${from} > ${to}`)
  /** Writes a block that begins with an edge from `from`, and returns where it ends. */
  const write = (from: string, one: Block, condition?: string): string => {
    switch (one.kind) {
      case 'one': {
        const id = fresh(one.letter)
        link(from, id, condition)
        return id
      }
      case 'seq':
        return one.blocks.reduce((at, next, nth) => write(at, next, nth === 0 ? condition : undefined), from)
      case 'choice': {
        const [decision, meet] = [fresh('d'), fresh('m')]
        link(from, decision, condition)
        for (const [nth, branch] of one.blocks.entries()) link(write(decision, branch, nth === 0 ? 'else' : `vars.pick == ${nth}`), meet)
        return meet
      }
      case 'parallel': {
        const [split, join] = [fresh('p'), fresh('j')]
        link(from, split, condition)
        for (const branch of one.blocks) link(write(split, branch), join)
        return join
      }
      case 'again': {
        const [begin, end] = [fresh('m'), fresh('c')]
        link(from, begin, condition)
        link(write(begin, one.block), end)
        link(end, begin, 'rejected')
        return end
      }
    }
  }
  link(write('s', block), 'e')
  return written.join('\n')
}

/** The text of a sound board for `sketch`, with the variable `pick`. */
export const boardText = block.map(lines)
