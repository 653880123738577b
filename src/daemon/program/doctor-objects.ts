import { stat } from 'node:fs/promises'
import { isProblem } from '../../core/kit/index.ts'
import { type Check, failed, passed, warning } from '../../node/command-line.ts'
import type { Config } from '../config/index.ts'
import { objectPlace, openObjectStore } from '../objects/index.ts'

const name = 'files'

/** Whether the files of spaces can be kept where the settings say. */
export async function objects(config: Config): Promise<Check> {
  try {
    const place = objectPlace(config)
    if (place.kind === 'file' && !(await isThere(place.folder))) return passed(name, `${place.folder} will be made at the first start`)
    await (await openObjectStore(config)).look()
    if (place.kind === 's3') return passed(name, `go to ${place.url}`)
    const alone = warning(
      name,
      `go to ${place.folder}, which a second daemon on this database would not see`,
      'set TENANTRY_OBJECT_STORE to a bucket before there are two',
    )
    return config.databaseUrl.startsWith('postgres') ? alone : passed(name, `go to ${place.folder}`)
  } catch (error) {
    if (!isProblem(error)) throw error
    const { message: cause } = (error.cause ?? error) as Error
    return failed(name, `cannot be kept: ${cause}`, 'look at TENANTRY_OBJECT_STORE and its credentials, and whether the bucket is there')
  }
}

const isThere = (folder: string) =>
  stat(folder).then(
    () => true,
    () => false,
  )
