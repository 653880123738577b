import type { Db } from '../db/index.ts'
import { hasFiles } from '../files/index.ts'
import { hasPackages } from '../store/index.ts'

/** Whether the database names stored objects, of any feature. */
export const namesObjects = async (db: Db): Promise<boolean> => (await hasFiles(db)) || (await hasPackages(db))
