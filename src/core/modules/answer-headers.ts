type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

const passed = /^(?:etag|cache-control|content-length|x-module-[a-z0-9-]{1,40})$/
/** A line break in a value would begin a header of the module's own. */
const isPlain = (value: string): boolean => /^[\x20-\x7e]*$/.test(value)
/** Types that a browser shows and cannot run. SVG is a document with scripts. */
const shown = /^(?:application\/json|text\/plain|text\/csv|image\/(?!svg)[a-z0-9.+-]{1,40})(?:;\s*charset="?[a-z0-9-]{1,40}"?)?$/i

/**
 * The headers of a module's answer that reach the caller; all else is dropped. Nothing of it runs as a page of this origin: other types are
 * downloads, and every answer has a policy that runs nothing.
 */
export function answerHeaders(incoming: Headers): Record<string, string> {
  const entries = Object.entries(incoming).flatMap(([name, value]) =>
    typeof value === 'string' && passed.test(name) && isPlain(value) ? [[name, value] as const] : [],
  )
  const type = typeof incoming['content-type'] === 'string' ? incoming['content-type'] : undefined
  const isShown = type === undefined || shown.test(type)
  return {
    ...Object.fromEntries(entries),
    ...(type === undefined ? {} : { 'content-type': isShown ? type : 'application/octet-stream' }),
    ...(isShown ? {} : { 'content-disposition': 'attachment' }),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
  }
}
