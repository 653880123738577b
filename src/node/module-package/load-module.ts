import { problem } from '../../core/kit/index.ts'
import { type ModuleManifest, manifestFile, readModuleManifest, readSamples, type Samples, samplesFile } from '../../core/modules/index.ts'
import type { PackageFile } from './read-archive.ts'

/** A module ready to run: its manifest, samples, and code by path. */
export type LoadedModule = Readonly<{ manifest: ModuleManifest; samples: Samples; files: Readonly<Record<string, string>> }>

/** Reads the files of a module. Throws MODULE_INVALID. */
export function loadModule(files: readonly PackageFile[]): LoadedModule {
  const textOf = (name: string) => files.find((file) => file.name === name)?.bytes.toString('utf8')
  const text = textOf(manifestFile)
  if (text === undefined) throw problem('MODULE_INVALID', `There is no ${manifestFile} here. fix: tenantry modules init <dir>`)
  const manifest = readModuleManifest(text)
  const code = files.filter(({ name }) => /\.m?js$/.test(name)).map(({ name, bytes }) => [name, bytes.toString('utf8')])
  return { manifest, samples: readSamples(textOf(samplesFile), manifest), files: Object.fromEntries(code) }
}
