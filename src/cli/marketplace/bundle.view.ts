import type { FlowBundle } from '../../core/boards/index.ts'
import { printable } from '../../core/kit/index.ts'
import type { Submission } from '../../core/marketplace/index.ts'
import { fieldColumns } from '../boards/index.ts'
import { type Column, clean, type Style, sections, table } from '../kit/index.ts'

type Component = FlowBundle['templateExport']['components'][number]
type Element = Exclude<Component, { kind: 'column' }>
type Placed = Readonly<{ element: Element; next: string }>

/** A flow as a table with its forms and texts; any other bundle as JSON. Texts of the vendor have no control characters. */
export const bundleView = ({ itemType, bundle }: Pick<Submission, 'itemType' | 'bundle'>, style: Style): string =>
  itemType === 'flow' && 'templateExport' in bundle ? flowView(bundle as FlowBundle, style) : printable(JSON.stringify(bundle, null, 2))

function flowView({ templateExport: { components, edges } }: FlowBundle, style: Style): string {
  const elements = components.filter((one): one is Element => one.kind !== 'column')
  const nextOf = (id: string) =>
    edges
      .filter(({ sourceLocalId }) => sourceLocalId === id)
      .map(({ targetLocalId, condition }) => {
        const when = condition.type === 'expression' ? condition.expression : condition.type
        return when === 'always' ? targetLocalId : `${targetLocalId} (${when})`
      })
      .join(', ')
  const placed = elements.map((element) => ({ element, next: nextOf(element._localId) }))
  return sections(
    placed.length === 0 ? 'No elements.' : table(style, columns, placed),
    ...elements.flatMap((element) => contentOf(element, style)),
    'To read the whole bundle, with roles of starts and triggers: --json',
  )
}

const columns: readonly Column<Placed>[] = [
  { title: 'ELEMENT', value: ({ element }) => element._localId, priority: 1 },
  { title: 'KIND', value: ({ element }) => element.kind, priority: 1 },
  { title: 'LABEL', value: ({ element }) => element.label, priority: 2, minWidth: 10 },
  { title: 'ROLE', value: ({ element }) => roleOf(element), priority: 2 },
  { title: 'NEXT', value: ({ next }) => next, priority: 1, minWidth: 10 },
]

function roleOf({ config }: Element): string | null {
  const role = 'assignedRole' in config ? config.assignedRole : undefined
  return typeof role === 'object' ? `{${role.role}}` : (role ?? null)
}

/** The fields of a form, or the text of a message or report. */
function contentOf(element: Element, style: Style): string[] {
  const id = clean(element._localId)
  if (element.kind === 'form') return [`Fields of ${id}:\n${table(style, fieldColumns, element.config.fields)}`]
  if (element.kind === 'message') return [`Message of ${id}:\n${printable(element.config.body)}`]
  if (element.kind === 'report') return [`Report of ${id}, "${clean(element.config.title)}":\n${printable(element.config.template)}`]
  return []
}
