//! Which names the source directories hold. Pure; spec 4.2.

use roaring::RoaringBitmap;

/// The names in the source directories at the last listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Masters {
    /// Every name that some source directory holds as something other than a directory. A symbolic
    /// link counts as what it leads to, as in cfm.
    pub files: RoaringBitmap,
    /// Directories that could not be listed, with why; what they held at their last good listing
    /// is still in `files`. While there is one, absence from `files` is not proof that a master is
    /// gone.
    pub unlisted: Vec<(String, String)>,
}
