/** A page for a person with a link, `body` escaped. No script and nothing from elsewhere. */
export const htmlPage = (body: string, title = 'Tenantry'): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<link rel="stylesheet" href="/docs/style.css"></head><body><main>
${body}
</main></body></html>
`
