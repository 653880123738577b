import { isProblem, problem } from '../../core/kit/index.ts'

/** Refusals name an option, as it was typed: the API names a path of the body. `options`: a path, or its beginning, to the option. */
export async function namedAsOptions<Result>(options: Readonly<Record<string, string>>, send: () => Promise<Result>): Promise<Result> {
  return send().catch((error: unknown) => {
    if (!isProblem(error, 'VALIDATION') || !error.details) throw error
    const details = error.details.map(({ path, reason }) => ({ path: optionOf(options, path) ?? path, reason }))
    if (details.every(({ path }, nth) => path === error.details?.[nth]?.path)) throw error
    throw problem('VALIDATION', details.map(({ path, reason }) => `${path} ${reason}`).join('; '), { details })
  })
}

function optionOf(options: Readonly<Record<string, string>>, path: string): string | undefined {
  const [name, option] = Object.entries(options).find(([one]) => (one.endsWith('.') ? path.startsWith(one) : path === one)) ?? []
  return name === undefined || option === undefined ? undefined : `${option}${path.slice(name.length)}`
}
