import { isProblem, problem } from '../../core/kit/index.ts'

/** `name=value` is a text, `name:=value` a number, true or false. Throws USAGE, also for a name that is given twice. */
export function valuesOf(input: readonly string[]): Record<string, unknown> {
  const values = new Map<string, unknown>()
  for (const one of input) {
    const [, name, colon, value = ''] = /^([A-Za-z][A-Za-z0-9_]*)(:?)=(.*)$/s.exec(one) ?? []
    if (name === undefined) throw problem('USAGE', `"${one}" is not a value. fix: write name=text, or name:=12 for a number`)
    if (values.has(name)) throw problem('USAGE', `${name} has two values. fix: write it once`)
    values.set(name, colon === ':' ? plainValue(name, value) : value)
  }
  return Object.fromEntries(values)
}

function plainValue(name: string, value: string): number | boolean {
  if (value === 'true' || value === 'false') return value === 'true'
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number))
    throw problem('USAGE', `${name}:=${value} is not a number, true or false. fix: write ${name}=${value} for a text`)
  return number
}

/** Refusals name a value as it was typed, and how to write it. The API names its place in the body. */
export async function namedAsTyped<Result>(values: Readonly<Record<string, unknown>>, send: () => Promise<Result>): Promise<Result> {
  return send().catch((error: unknown) => {
    if (!isProblem(error, 'VALIDATION') || !error.details?.some(({ path }) => inBody.test(path))) throw error
    const reasons = error.details.map(({ path, reason }) => {
      const name = path.replace(inBody, '')
      return `${name} ${reason}${fixOf(name, values[name], reason)}`
    })
    throw problem('VALIDATION', reasons.join('; '))
  })
}

const inBody = /^(data|variables)\./

function fixOf(name: string, value: unknown, reason: string): string {
  if (reason === 'must be a number') return `. fix: ${name}:=${typeof value === 'string' && isNumber(value) ? value : 12}`
  if (reason === 'must be true or false') return `. fix: ${name}:=${value === 'false' ? 'false' : 'true'}`
  if (reason === 'must be a text' && value !== undefined) return `. fix: ${name}=${String(value)}`
  return ''
}

const isNumber = (text: string) => text.trim() !== '' && Number.isFinite(Number(text))
