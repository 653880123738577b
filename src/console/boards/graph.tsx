import { graphlib, layout } from '@dagrejs/dagre'
import { Background, BaseEdge, Controls, type Edge, type EdgeProps, MarkerType, type Node, ReactFlow } from '@xyflow/react'
import '@xyflow/react/dist/style.css'
import { useMemo } from 'react'
import type { BoardStructure } from '../../core/boards/index.ts'
import { Icon, type Tone } from '../kit/index.ts'

/** How an element of the graph is marked; absent: as it is. */
export type Mark = Readonly<{ tone: Tone; text: string }>
type GraphProps = Readonly<{ board: BoardStructure; marks: ReadonlyMap<string, Mark> }>

const size = { width: 180, height: 52 }
/** A letter of the condition of an edge, and its line. */
const letter = { width: 7, height: 20 }
/** A larger graph is moved by hand. */
const maxHeight = 720
const readable = { minZoom: 0.75, maxZoom: 1, padding: 0.02 }

/** A graph that is too long is shown from its top. */
const shownFirst = (nodes: readonly Node[]): Node[] =>
  nodes.filter(({ position }) => position.y + size.height <= (maxHeight / readable.minZoom) * 0.9)

type Routed = Edge<Readonly<{ path: string; labelX: number; labelY: number }>>

const edgeTypes = {
  routed: ({ data, label, markerEnd }: EdgeProps<Routed>) =>
    data && (
      <BaseEdge
        path={data.path}
        labelX={data.labelX}
        labelY={data.labelY}
        label={label}
        {...(markerEnd === undefined ? {} : { markerEnd })}
      />
    ),
}

/** The elements of a board from top to bottom, with the condition of each edge. The list of elements beside it says the same in words. */
export function Graph({ board, marks }: GraphProps) {
  const { nodes, edges, height } = useMemo(() => placed(board, marks), [board, marks])
  return (
    <div className="graph" style={{ height: Math.min(height + 40, maxHeight) }}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        edgeTypes={edgeTypes}
        fitView
        fitViewOptions={{ ...readable, nodes: shownFirst(nodes) }}
        minZoom={0.2}
        zoomOnScroll={false}
        preventScrolling={false}
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

function placed(
  { elements, edges }: BoardStructure,
  marks: ReadonlyMap<string, Mark>,
): Readonly<{ nodes: Node[]; edges: Routed[]; height: number }> {
  const graph = new graphlib.Graph({ multigraph: true }).setGraph({ rankdir: 'TB', nodesep: 32, ranksep: 36, marginx: 8, marginy: 8 })
  for (const { id } of elements) graph.setNode(id, { ...size })
  const labels = edges.map(({ condition }) => (condition === 'always' ? '' : condition.replaceAll('_', ' ')))
  edges.forEach(({ source, target }, at) => {
    const label = labels[at] as string
    graph.setEdge(source, target, { width: letter.width * label.length, height: label === '' ? 0 : letter.height, labelpos: 'c' }, `${at}`)
  })
  layout(graph)
  return {
    height: (graph.graph() as { height: number }).height,
    nodes: elements.map(({ id, kind, label }) => {
      const { x, y } = graph.node(id) as { x: number; y: number }
      const mark = marks.get(id)
      return {
        id,
        position: { x: x - size.width / 2, y: y - size.height / 2 },
        ...{ width: size.width, height: size.height },
        className: mark ? `element tone-${mark.tone}` : 'element',
        data: { label: <Element kind={kind} label={label} mark={mark} /> },
      }
    }),
    edges: edges.map(({ source, target }, at) => {
      const { points, x, y } = graph.edge({ v: source, w: target, name: `${at}` }) as { points: Point[]; x?: number; y?: number }
      const label = labels[at] as string
      return {
        ...{ id: `${at}`, type: 'routed', source, target, markerEnd: { type: MarkerType.ArrowClosed } },
        data: { path: curve(points), labelX: x ?? 0, labelY: y ?? 0 },
        ...(label === '' ? {} : { label }),
      }
    }),
  }
}

type Point = Readonly<{ x: number; y: number }>

/** A smooth line past points that keep it clear of the elements. */
function curve(points: readonly Point[]): string {
  const [first, ...others] = points as [Point, ...Point[]]
  const parts = others.map((point, at) => {
    const next = others[at + 1]
    return next ? `Q ${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}` : `L ${point.x} ${point.y}`
  })
  return [`M ${first.x} ${first.y}`, ...parts].join(' ')
}

const Element = ({ kind, label, mark }: Readonly<{ kind: string; label: string; mark: Mark | undefined }>) => (
  <>
    <span className="element-label">{label}</span>
    <span className="element-label dim">
      {mark && <Icon tone={mark.tone} />} {mark ? `${kind.replaceAll('_', ' ')} · ${mark.text}` : kind.replaceAll('_', ' ')}
    </span>
  </>
)
