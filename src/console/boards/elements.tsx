import { lazy, Suspense } from 'react'
import type { BoardStructure } from '../../core/boards/index.ts'
import { Loading, Section, Status } from '../kit/index.ts'
import type { Mark } from './graph.tsx'
import { words } from './words.ts'

const Graph = lazy(() => import('./graph.tsx').then(({ Graph: component }) => ({ default: component })))

/** The graph, and the same as a list. */
export function Elements({ board, marks }: Readonly<{ board: BoardStructure; marks: ReadonlyMap<string, Mark> }>) {
  return (
    <Section title={words.graph}>
      <Suspense fallback={<Loading rows={8} />}>
        <Graph board={board} marks={marks} />
      </Suspense>
      <details>
        <summary>{`${board.elements.length} elements as a list`}</summary>
        <ul className="lines">
          {board.elements.map(({ id, kind, label }) => {
            const mark = marks.get(id)
            return (
              <li key={id}>
                <code>{id}</code>
                <span className="grow">
                  {label} <span className="dim">{kind.replaceAll('_', ' ')}</span>
                </span>
                {mark && <Status tone={mark.tone}>{mark.text}</Status>}
                <span className="aside">{nextOf(board, id)}</span>
              </li>
            )
          })}
        </ul>
      </details>
    </Section>
  )
}

const nextOf = ({ edges }: BoardStructure, id: string): string =>
  edges
    .filter(({ source }) => source === id)
    .map(({ target, condition }) => (condition === 'always' ? `→ ${target}` : `→ ${target} (${condition})`))
    .join(' ')
