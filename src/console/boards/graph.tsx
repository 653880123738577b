import { graphlib, layout } from '@dagrejs/dagre'
import { Background, Controls, type Edge, type Node, Position, ReactFlow } from '@xyflow/react'
import '@xyflow/react/dist/style.css'
import { useMemo } from 'react'
import type { BoardStructure } from '../../core/boards/index.ts'
import { Icon, type Tone } from '../kit/index.ts'

/** How an element of the graph is marked; absent: as it is. */
export type Mark = Readonly<{ tone: Tone; text: string }>
type GraphProps = Readonly<{ board: BoardStructure; marks: ReadonlyMap<string, Mark> }>

const size = { width: 180, height: 52 }

/** The elements of a board from left to right, with the condition of each edge. The list of elements beside it says the same in words. */
export function Graph({ board, marks }: GraphProps) {
  const { nodes, edges } = useMemo(() => placed(board, marks), [board, marks])
  return (
    <div className="graph">
      <ReactFlow
        nodes={nodes}
        edges={edges}
        fitView
        nodesDraggable={false}
        nodesConnectable={false}
        elementsSelectable={false}
        proOptions={{ hideAttribution: true }}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  )
}

function placed({ elements, edges }: BoardStructure, marks: ReadonlyMap<string, Mark>): { nodes: Node[]; edges: Edge[] } {
  const graph = new graphlib.Graph().setGraph({ rankdir: 'LR', nodesep: 24, ranksep: 56 }).setDefaultEdgeLabel(() => ({}))
  for (const { id } of elements) graph.setNode(id, { ...size })
  for (const { source, target } of edges) graph.setEdge(source, target)
  layout(graph)
  return {
    nodes: elements.map(({ id, kind, label }) => {
      const { x, y } = graph.node(id) as { x: number; y: number }
      const mark = marks.get(id)
      return {
        id,
        position: { x: x - size.width / 2, y: y - size.height / 2 },
        ...{ width: size.width, height: size.height, sourcePosition: Position.Right, targetPosition: Position.Left },
        className: mark ? `element tone-${mark.tone}` : 'element',
        data: { label: <Element kind={kind} label={label} mark={mark} /> },
      }
    }),
    edges: edges.map(({ source, target, condition }, at) => ({
      id: `${at}`,
      source,
      target,
      ...(condition === 'always' ? {} : { label: condition }),
    })),
  }
}

const Element = ({ kind, label, mark }: Readonly<{ kind: string; label: string; mark: Mark | undefined }>) => (
  <>
    <span className="element-label">{label}</span>
    <span className="dim">
      {mark && <Icon tone={mark.tone} />} {mark ? `${kind.replaceAll('_', ' ')} · ${mark.text}` : kind.replaceAll('_', ' ')}
    </span>
  </>
)
