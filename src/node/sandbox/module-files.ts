/** Where an import leads: `lib/b.js` for `./b.js` in `lib/a.js`. Undefined for a path outside the package. */
export function resolveImport(from: string, name: string): string | undefined {
  if (!/^\.\.?\//.test(name)) return undefined
  const path = from.includes('/') ? from.split('/').slice(0, -1) : []
  for (const part of name.split('/')) {
    if (part === '..') {
      if (path.pop() === undefined) return undefined
    } else if (part !== '.' && part !== '') path.push(part)
  }
  return path.join('/')
}
