// Loads the page again when one of its files did not arrive (the network changed, the daemon restarts): without it the page would stay empty.
{
  const key = 'tenantry-console-reloads'
  const most = 5
  const isNeeded = (element) => element instanceof HTMLScriptElement || (element instanceof HTMLLinkElement && element.rel === 'stylesheet')
  const loaded = () => sessionStorage.removeItem(key)
  const reload = ({ target }) => {
    if (!isNeeded(target)) return
    removeEventListener('error', reload, true)
    removeEventListener('load', loaded)
    const reloads = Number(sessionStorage.getItem(key) ?? 0)
    if (reloads === most) {
      loaded()
      document.body.append('A file of the console could not be loaded. Reload the page.')
      return
    }
    sessionStorage.setItem(key, String(reloads + 1))
    setTimeout(() => location.reload(), 1000)
  }
  addEventListener('error', reload, true)
  addEventListener('load', loaded)
}
