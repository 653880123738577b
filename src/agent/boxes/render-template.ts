import { type Problem, problem } from '../../core/kit/index.ts'

/** Names in `{{ }}` are all that a template can hold: no logic, no nesting. */
const placeholder = /\{\{([A-Za-z][A-Za-z0-9]*)\}\}/g

const broken = (reason: string): Problem => problem('CONFIG_INVALID', `the box template ${reason}`)

/**
 * Fills a set of templates. A placeholder without a value, a value that no template uses, and a value that could end a quoted
 * string are all errors: a template and its agent come in one package and must fit. Throws CONFIG_INVALID or VALIDATION.
 */
export function renderTemplates(templates: ReadonlyMap<string, string>, values: Readonly<Record<string, string>>): Map<string, string> {
  for (const [name, value] of Object.entries(values)) needPlainValue(name, value)
  const used = new Set<string>()
  const rendered = new Map([...templates].map(([path, text]) => [path, render(path, text, values, used)]))
  const unused = Object.keys(values).filter((name) => !used.has(name))
  if (unused.length > 0) throw broken(`has no place for ${unused.join(', ')}`)
  return rendered
}

function render(path: string, text: string, values: Readonly<Record<string, string>>, used: Set<string>): string {
  const filled = text.replace(placeholder, (_, name: string) => {
    if (!Object.hasOwn(values, name)) throw broken(`wants {{${name}}} in ${path}, which nobody knows`)
    used.add(name)
    return values[name] ?? ''
  })
  if (text.replace(placeholder, '').includes('{{')) throw broken(`has braces in ${path} that are no {{name}}`)
  return filled
}

/** Values stand inside quotes of YAML, nginx and JSON: none may hold a quote, a brace, a space or a control character. */
function needPlainValue(name: string, value: string): void {
  if (value === '' || /[^\x21-\x7e]|["'`{};$#]/.test(value))
    throw problem('VALIDATION', `the value of ${name} cannot stand in a box's files`)
}
