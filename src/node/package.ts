import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

// The programs run from `src/` under test and from `dist/` when built; the package's own files lie beside both.
function findRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findRoot(dirname(folder))
}
const root = findRoot(import.meta.dirname)

/** The path of a file that the package carries, such as `config/manifest.yaml`. */
export const packageRoot = (...path: readonly string[]): string => join(root, ...path)

export const packageVersion = (): string => JSON.parse(readFileSync(packageRoot('package.json'), 'utf8')).version
