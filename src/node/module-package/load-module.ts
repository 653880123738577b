import { notUtf8, problem, utf8Text } from '../../core/kit/index.ts'
import { type ModuleManifest, manifestFile, readModuleManifest, readSamples, type Samples, samplesFile } from '../../core/modules/index.ts'
import type { PackageFile } from './read-archive.ts'

/** A module ready to run: its manifest, samples, and code by path. */
export type LoadedModule = Readonly<{ manifest: ModuleManifest; samples: Samples; files: Readonly<Record<string, string>> }>

/** Reads the files of a module. Throws MODULE_INVALID. */
export function loadModule(files: readonly PackageFile[]): LoadedModule {
  const textOf = (name: string) => {
    const file = files.find((one) => one.name === name)
    return file && moduleText(file)
  }
  const text = textOf(manifestFile)
  if (text === undefined) throw problem('MODULE_INVALID', `There is no ${manifestFile} here. fix: tenantry modules init <dir>`)
  const manifest = readModuleManifest(text)
  const code = files.filter(({ name }) => /\.m?js$/.test(name)).map((file) => [file.name, moduleText(file)])
  return { manifest, samples: readSamples(textOf(samplesFile), manifest), files: Object.fromEntries(code) }
}

/** Throws MODULE_INVALID for a file that is not UTF-8. */
export function moduleText({ name, bytes }: PackageFile): string {
  const text = utf8Text(bytes)
  if (text === undefined) throw problem('MODULE_INVALID', `${name}: ${notUtf8(bytes)}`)
  return text
}
