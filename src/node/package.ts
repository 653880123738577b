import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

// Programs run from `src/` in tests and from `dist/` when built; package files are in the parent of both.
function findRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findRoot(dirname(folder))
}
const root = findRoot(import.meta.dirname)

/** The path of a file that the package carries, such as `config/manifest.yaml`. */
export const packageRoot = (...path: readonly string[]): string => join(root, ...path)

export const packageVersion = (): string => JSON.parse(readFileSync(packageRoot('package.json'), 'utf8')).version
