import { titled } from './check-graph.ts'
import type { BoardDefinition, FormField } from './definition.ts'
import { type BoardFinding, error } from './finding.ts'

/** Fields of forms that have the same name, or that no value fits. */
export const checkFields = ({ elements }: BoardDefinition): BoardFinding[] =>
  elements.flatMap((element) => {
    if (element.kind !== 'form') return []
    const { fields } = element.config
    const names = fields.map(({ name }) => name)
    const twice = [...new Set(names.filter((name, nth) => names.indexOf(name) !== nth))]
    return [
      ...twice.map((name) => error('FIELD_REPEATED', element.id, `${titled(element)} has two fields named ${name}`)),
      ...fields.flatMap((field) => {
        const why = impossible(field)
        return why === undefined
          ? []
          : [error('FIELD_IMPOSSIBLE', element.id, `${titled(element)}: no value fits the field ${field.name}, because ${why}`)]
      }),
    ]
  })

function impossible(field: FormField): string | undefined {
  if (field.kind === 'text') {
    const { minLength = 0, maxLength } = field
    return minLength > maxLength ? `minLength ${minLength} is more than maxLength ${maxLength}` : undefined
  }
  if (field.kind !== 'number' && field.kind !== 'date') return undefined
  const { min, max } = field
  return min !== undefined && max !== undefined && min > max ? `min ${min} is more than max ${max}` : undefined
}
