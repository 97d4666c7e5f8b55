// Puts the theme that somebody chose in place before anything is drawn.
try {
  const theme = localStorage.getItem("postbus-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* storage is off: the system's theme it is */ }
